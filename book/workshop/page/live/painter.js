// The pictures of one trainer, each on its own canvas. It lives in the Worker: the page's own thread, which answers
// the reader, has no picture to draw.
import { cloud } from "./cloud.js";
import { areOne } from "./forecast.js";
import { curves, map } from "./paint.js";
import { GRID } from "./toys.js";

export class Painter {
  #canvases = [];
  #scene = null;
  #sides = [];

  // Canvases that replace all others, in the order of a scene's pictures.
  hang(canvases) {
    this.#canvases = canvases;
    this.#scene = null;
  }

  // `scene`: what is seen besides what networks give: { state, look, ratio, playing, chosen, cursor, compared, pictures },
  // where each of `pictures` is { kind, side, method, behind, prior, width, height }, in CSS pixels.
  set(scene) {
    this.#scene = scene;
    return this.#paint();
  }

  // `sides`: what networks give, of curves over `GRID`; none where there is nothing yet.
  show(sides) {
    this.#sides = sides;
    return this.#paint();
  }

  // Returns whether all curves of each picture are one.
  #paint() {
    if (!this.#scene) return false;
    const { state, look, pictures, compared, ...hand } = this.#scene;
    const found = [];
    pictures.forEach(({ kind, side: i, method, behind, prior, ...size }, place) => {
      const canvas = this.#canvases[place];
      const side = this.#sides[i];
      const drawn = { ...size, ratio: hand.ratio };
      if (kind === "curves")
        found.push(curves(canvas, drawn, side?.means && side, GRID, state, method, look, hand, { compared, behind }));
      else if (kind === "cloud") cloud(canvas, drawn, side?.moments, prior, look.colors[method], look);
      else map(canvas, drawn, side?.map && side, kind, state, look, hand);
    });
    return found.length > 0 && found.every((one) => one && areOne(one));
  }
}

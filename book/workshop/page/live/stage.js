// The pictures of one or two networks, and what is folded below them.
import { fold, make } from "../common/controls.js";
import { edit } from "./editor.js";
import { behindOf, besideBand } from "./forecast.js";
import { looks, losses, ratioOf, squareOf } from "./paint.js";
import { lossWords, named } from "./story.js";
import { TOYS } from "./toys.js";
import { sides } from "./trainer.js";

const PHONE = 600; // pixels, as in the sheet of styles
const HIGHEST = 460;

const MAPS = {
  mean: "probability of each class",
  information: "members' doubt",
};
// What the lines and colors of the pictures mean; beside a band that they are compared with, by their names.
const keyOf = (state, compared, band) => {
  if (state.task === "classification")
    return ["Red is the members' doubt: their mutual information, from 0 to all that is possible."];
  const methods = [...new Set(sides(state).map(({ method }) => method))];
  const thin = [...new Set(methods.map((method) => (METHODS[method].stochastic ? "draws" : "members")))].join(", ");
  const behind = band && { behind: `${band.label} (± 2 std)` };
  const seen = compared ? { ...behind, differ: methods.map(besideBand).join(", ") } : { mean: "mean", thin, differ: "inner band", noise: "outer band" };
  const swatches = { truth: [null], behind: ["single"] };
  return Object.entries({ ...seen, ...(TOYS[state.data]?.truth ? { truth: "true curve" } : {}) }).flatMap(([kind, words]) => {
    const own = (swatches[kind] ?? methods).map((method) => make("i", method ? { "data-method": method } : {}));
    return [make("span", { "data-kind": kind }, ...own, words), " "];
  });
};

const widthOf = (canvas) => canvas.clientWidth || 320;

// Two pictures stand below each other, and both are in sight.
const heightOf = (width, pictures) => {
  if (pictures > 1 && innerWidth <= PHONE) return 183;
  const [least, most] = pictures > 1 ? [150, 0.25] : [210, 0.45];
  return Math.round(Math.max(least, Math.min(HIGHEST, 0.6 * width, most * innerHeight)));
};

export const stageOf = (root, trainer, hint) => {
  const element = make("div", { class: "ensedu-t-stage" });
  const key = make("p", { class: "ensedu-t-note ensedu-t-key" });
  const lossCanvas = make("canvas", { role: "img", "aria-label": "Losses" });
  let canvases = [];
  let built = "";
  let handed = false; // whether the Worker has the canvases
  let followed = null; // the state whose names are shown
  let look = null;

  const lossNumbers = make("p", { class: "ensedu-t-losses" });
  const lossFold = fold(
    "Losses", lossCanvas, lossNumbers,
    make("p", { class: "ensedu-t-note" }, "Solid: the members' average NLL. Dashed: the NLL of their mixture, by Jensen's inequality never above it. Both axes are bent, so that the first steps and the last are seen."),
  );
  lossFold.addEventListener("toggle", () => trainer.look());

  const canvasOf = (kind) => {
    if (kind !== "curves" && kind !== "mean") return make("canvas", { role: "img", "data-kind": kind });
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-describedby": `${hint} ${hint}-keys`, "data-kind": kind });
    edit(canvas, trainer);
    return canvas;
  };
  const build = () => {
    const kinds = [...(trainer.plane ? Object.keys(MAPS) : ["curves"]), ...(trainer.distributions ? ["cloud"] : [])];
    canvases = [];
    const sections = sides(trainer.state).map((_, i) => {
      const figures = kinds.map((kind) => {
        const canvas = canvasOf(kind);
        canvases.push({ i, kind, canvas });
        const caption = kind in MAPS ? [make("p", { class: "ensedu-t-note" }, MAPS[kind])] : [];
        return make("div", { class: "ensedu-t-picture", "data-kind": kind }, ...caption, canvas);
      });
      return make("section", {}, make("p", { class: "ensedu-t-title" }), make("div", { class: "ensedu-t-row" }, ...figures));
    });
    const focused = element.contains(document.activeElement);
    element.replaceChildren(...sections);
    handed = false;
    if (focused) canvases.find(({ canvas }) => canvas.tabIndex === 0).canvas.focus({ preventScroll: true });
    const { dataset } = element.closest(".ensedu-t-bench");
    dataset.sides = String(sections.length);
    dataset.task = trainer.state.task;
  };
  // As many pictures as the state has, with its names.
  const follow = () => {
    if (followed === trainer.state) return;
    followed = trainer.state;
    const shape = `${trainer.state.task} ${sides(trainer.state).length}`;
    if (built !== shape) {
      built = shape;
      build();
    }
    [...element.children].forEach((section, i) => {
      const words = named(trainer.state, i);
      section.dataset.method = sides(trainer.state)[i].method;
      section.setAttribute("aria-label", words);
      section.firstChild.textContent = words;
    });
    for (const { i, kind, canvas } of canvases) {
      if (kind === "cloud") {
        canvas.setAttribute("aria-label", "Means and standard deviations of all distributions, around their prior");
        continue;
      }
      const behind = behindOf(trainer.behind, trainer.state, sides(trainer.state)[i]);
      const before = behind ? ` before the band of ${behind.label}` : "";
      const what = kind === "curves" ? `Curves of all members${before}` : `Map, ${MAPS[kind]}`;
      canvas.setAttribute("aria-label", `${what}: ${named(trainer.state, i)}, ${trainer.state.points.length} points`);
    }
    const band = sides(trainer.state).map((side) => behindOf(trainer.behind, trainer.state, side)).find(Boolean);
    key.replaceChildren(...keyOf(trainer.state, trainer.behind, band));
  };

  // What the Worker draws: each picture's size on the page is found here.
  const pictures = (curve) => canvases.map(({ i, kind, canvas }) => {
    const own = sides(trainer.state)[i];
    const { method } = own;
    const width = widthOf(canvas);
    const height = kind in MAPS ? squareOf(width) : curve;
    canvas.style.height = `${height}px`;
    return {
      kind, side: i, method, width, height, behind: behindOf(trainer.behind, trainer.state, own),
      prior: { mean: METHODS[method].prior_loc, std: trainer.state.prior_scale },
    };
  });
  const setScene = () => {
    const { state, playing, chosen, cursor, behind } = trainer;
    look = looks(root);
    // As high as one picture of all their width.
    const beside = trainer.plane ? 1 : getComputedStyle(element).gridTemplateColumns.split(" ").length;
    const seen = pictures(heightOf(beside * widthOf(canvases[0].canvas), canvases.length / beside));
    // Their room is kept at once, but to hand canvases over takes a browser long the first time.
    if (!trainer.seen) return;
    if (!handed) trainer.runner.hang(canvases.map(({ canvas }) => canvas.transferControlToOffscreen()));
    handed = true;
    trainer.runner.scene({ state, look, ratio: ratioOf(playing), chosen, cursor, compared: Boolean(behind), pictures: seen });
  };

  // `anew`: what is seen besides the networks may be another. While it trains nothing is measured, nor is a word
  // written: a slow phone would lay out the page for each picture.
  const draw = (anew) => {
    const { state, frame } = trainer;
    follow();
    if (anew || !look) setScene();
    if (!frame) return;
    key.toggleAttribute("data-one", frame.one);
    if (lossFold.open) {
      losses(lossCanvas, 150, frame.records, sides(state).map(({ method }) => method), look);
      lossCanvas.setAttribute("aria-label", `Losses over ${frame.steps} steps`);
      lossNumbers.textContent = lossWords(frame, state);
    }
  };

  // A small copy of the first picture, drawn with it.
  const copy = make("canvas", { class: "ensedu-frame" });
  const drawCopy = () => {
    const [{ canvas }] = canvases;
    [copy.width, copy.height] = [canvas.width, canvas.height];
    copy.getContext("2d").drawImage(canvas, 0, 0);
  };
  return { element, key, lossFold, draw, refresh: follow, copy, drawCopy };
};

// How far training is, and how many parameters each network holds, beside as many networks of its size.
import { make } from "../common/controls.js";
import { sides, specOf } from "./runner.js";

// The parameters of one network.
const ofOne = ({ sizes }) => sizes.slice(1).reduce((sum, n, l) => sum + (sizes[l] + 1) * n, 0);

export const gauge = () => {
  // While it trains, words change in their node: another node has the whole page styled anew.
  const steps = new Text();
  const held = make("span", { class: "ensedu-t-held" });
  const element = make("p", { class: "ensedu-t-meter" });
  let shown = "";
  const hold = (totals, state) => {
    const both = sides(state);
    const one = ofOne(specOf(state, both[0]));
    // A bar is full at as many networks as there are members, or at the largest total.
    const most = Math.max(...totals, ...both.map((side) => side.ensemble_size * one));
    const bars = totals.map((total, i) => {
      const bar = make("span", { class: "ensedu-t-bar", "aria-hidden": "true", "data-method": both[i].method });
      bar.style.setProperty("--share", `${(100 * total) / most}%`);
      bar.style.setProperty("--one", `${(100 * one) / most}%`);
      return make("span", {}, totals.length > 1 ? `${"AB"[i]} ` : "", bar, ` ${total.toLocaleString("en")}`);
    });
    held.replaceChildren(...bars.flatMap((bar, i) => (i ? [" ", bar] : [bar])), " parameters");
  };
  const show = (frame, state) => {
    steps.data = `step ${frame.steps.toLocaleString("en")}`;
    const totals = frame.sides.map(({ total }) => total);
    if (totals.length !== sides(state).length) return; // the picture of another state
    const what = JSON.stringify([totals, sides(state)]);
    if (shown === what) return;
    if (!shown) element.append(make("span", {}, steps), " ", held);
    shown = what;
    hold(totals, state);
  };
  return { element, show };
};

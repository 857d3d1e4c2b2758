// Draw a digit: what small networks say to a drawing, member by member; see book/workshop/page/digit.
import { button, make } from "../common/controls.js";
import { Random } from "../live/toys.js";
import { digitAnswers, digitFetch, digitNetwork, digitProbabilities, digitWords } from "./answers.js";
import { digitPad, digitSeen } from "./pad.js";

const DIGIT_UNDO = 200;

export const digits = (root) => {
  const data = JSON.parse(root.querySelector("script").textContent);
  let drawing = data.examples[data.start].strokes;
  let example = data.examples[data.start]; // null for what a reader has drawn
  let { method } = data;
  let nets = null; // by method, each with its noise; until then what is shown is data.first
  let seed = 1;
  const before = []; // what Undo goes back to

  const pad = digitPad(data.pen, {
    begin(stroke) {
      remember();
      [drawing, example] = [[...drawing, stroke], null];
      ready().then((there) => there && (pad.held() ? later() : show(drawing, example)));
    },
    move: () => later(),
    end() {
      if (nets) show(drawing, example);
    },
  });
  const undo = button("Undo", () => before.length && show(...before.pop()));
  const clear = button("Clear", () => change([], { digits: [] }));
  const chips = data.examples.map((given) => button(given.name, () => change(given.strokes, given)));
  const select = make("select", { id: `${root.id || "ensedu-digit"}-method` });
  for (const [key, { label }] of Object.entries(data.methods))
    if (key !== "single") select.append(make("option", { value: key }, label));
  select.value = method;
  const again = button("New draws", () => {
    seed += 1;
    for (const own of Object.values(nets ?? {})) own.noise = own.net.noise(new Random(seed));
    show(drawing, example);
  });
  const answers = digitAnswers();
  const story = make("p", { class: "ensedu-story", role: "status" });

  const arrange = (count) => {
    const { word } = data.methods[method];
    answers.arrange(method, word, count);
    again.hidden = word === "member";
  };
  const asked = () => {
    if (!nets) return data.first;
    const x = digitSeen(drawing, data.pen);
    const of = (key) => digitProbabilities(nets[key].net, x, nets[key].noise);
    return { single: of("single"), members: of(method) };
  };

  // All but the sentence, which waits until the hand rests.
  let waiting = 0;
  const draw = () => {
    waiting = 0;
    pad.draw(drawing);
    chips.forEach((chip, i) => chip.setAttribute("aria-pressed", data.examples[i] === example));
    undo.disabled = !before.length;
    clear.disabled = !drawing.length;
    const said = asked();
    answers.set(data.methods[method].label, said);
    return said;
  };
  const show = (strokes, what) => {
    [drawing, example] = [strokes, what];
    const { single, members } = draw();
    const { label, word } = data.methods[method];
    story.textContent = digitWords(label, word, members, single, example);
  };
  const later = () => {
    if (!waiting) waiting = requestAnimationFrame(draw);
  };

  // Nothing can be answered before the networks are here; what was drawn meanwhile is kept.
  const ready = () => {
    if (nets) return Promise.resolve(true);
    story.textContent = "Fetching the networks …";
    return digitFetch().then(
      (found) => {
        nets ??= Object.fromEntries(
          Object.keys(data.methods).map((key) => {
            const net = digitNetwork(key, found[key]);
            return [key, { net, noise: net.noise(new Random(seed)) }];
          }),
        );
        return true;
      },
      () => {
        story.textContent = "The networks could not be fetched. Touch the square to try again.";
        return false;
      },
    );
  };
  const remember = () => {
    before.push([drawing, example]);
    if (before.length > DIGIT_UNDO) before.shift();
  };
  const change = (strokes, what) => {
    remember();
    [drawing, example] = [strokes, what];
    ready().then((there) => there && show(drawing, example));
  };
  select.addEventListener("change", () => {
    ready().then((there) => {
      if (!there) {
        select.value = method;
        return;
      }
      method = select.value;
      arrange(DIGIT.passes);
      show(drawing, example);
    });
  });

  const choices = make("div", { class: "ensedu-chips", role: "group", "aria-label": "Drawings" }, ...chips);
  const tools = make("div", { class: "ensedu-tools" }, make("p", {}, "seen as"), pad.grid, undo, clear);
  const label = make("label", { for: select.id }, "Method");
  root.querySelector(".ensedu-still").remove();
  root.append(
    choices,
    make(
      "div",
      { class: "ensedu-desk" },
      make("div", {}, make("div", { class: "ensedu-sheet" }, pad.square, tools), ...answers.doubts),
      make(
        "div",
        { class: "ensedu-answer" },
        story,
        make("p", { class: "ensedu-choice" }, label, select, again),
        answers.table,
      ),
    ),
  );
  arrange(data.first.members.length);
  show(drawing, example);
};

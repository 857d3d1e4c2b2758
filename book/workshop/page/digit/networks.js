// The small networks that look at drawings: fetched, filled, and asked.
import { Random } from "../common/random.js";
import { Network } from "../live/network.js";

// Numbers of float16, little-endian, base64.
const digitNumbers = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const half = bytes[2 * i] + 256 * bytes[2 * i + 1];
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return half >> 15 ? -size : size;
  });
};

// The network of a method with the arrays that were trained, by layer and name.
export const digitNetwork = (method, { p, arrays }) => {
  const { members, stochastic } = METHODS[method];
  const passes = members || stochastic ? DIGIT.passes : 1;
  const spec = { sizes: DIGIT.sizes, method, passes, p, activation: "relu", start: "same", posterior_std: 1 };
  const net = new Network(spec, new Random(0));
  for (const [layer, name, array] of net.arrays()) array.set(digitNumbers(arrays[`${layer}.${name}`]));
  return net;
};

// The probabilities of each member, a list of ten; one network has one member.
export const digitProbabilities = (net, x, noise) => {
  const logits = net.forward(x, 1, noise);
  return Array.from({ length: net.spec.passes }, (_, i) => {
    const own = Array.from(logits.subarray(10 * i, 10 * i + 10));
    const most = Math.max(...own);
    const weights = own.map((logit) => Math.exp(logit - most));
    const sum = weights.reduce((a, b) => a + b, 0);
    return weights.map((weight) => weight / sum);
  });
};

// The mean of the members, and its entropy in two parts, in nats.
export const digitParts = (members) => {
  const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const entropy = (p) => p.reduce((sum, one) => sum - (one > 0 ? one * Math.log(one) : 0), 0);
  const mean = members[0].map((_, digit) => average(members.map((p) => p[digit])));
  const expected = average(members.map(entropy));
  return { mean, expected, information: Math.max(0, entropy(mean) - expected) };
};

export const digitLikeliest = (p) => p.indexOf(Math.max(...p));

// One script holds all networks; it is asked for once, when somebody first touches a square.
let digitFetched = null;
export const digitFetch = () => {
  digitFetched ??= new Promise((found, failed) => {
    const script = document.createElement("script");
    script.src = `${document.documentElement.dataset.content_root ?? ""}_static/digit-networks.js`;
    script.onerror = () => {
      digitFetched = null; // the next touch tries again
      script.remove();
      failed(new Error("the networks could not be fetched"));
    };
    script.onload = () => (globalThis.ensedu_digits ? found(globalThis.ensedu_digits) : script.onerror());
    document.head.append(script);
  });
  return digitFetched;
};

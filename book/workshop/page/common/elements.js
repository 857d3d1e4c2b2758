// Elements of a page, of HTML and of SVG, and scripts that are fetched when somebody needs them.
const filled = (node, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
export const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
export const shape = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

export const runScript = (src) =>
  new Promise((resolve, reject) => {
    const script = make("script", { src });
    script.onload = resolve;
    script.onerror = () => {
      script.remove();
      reject(new Error(`${src} could not be fetched`));
    };
    document.head.append(script);
  });

// What a setting may be, as book/workshop/page/fields.py describes it: one of `choices`, or a number.
export const accepts = ({ choices, whole, low, high }, value) => {
  if (choices) return choices.includes(value);
  return (whole ? Number.isInteger(value) : Number.isFinite(value)) && value >= low && value <= high;
};

// The name of the first value that is not accepted; or undefined.
export const firstRefused = (fields, values) => Object.keys(fields).find((key) => !accepts(fields[key], values[key]));

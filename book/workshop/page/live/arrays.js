// Flat arrays of float64, row by row: products, copies and sums.

export const arrayOf = (size, make) => {
  const array = new Float64Array(size);
  for (let i = 0; i < size; i += 1) array[i] = make(i);
  return array;
};
export const softplus = (rho) => Math.max(rho, 0) + Math.log1p(Math.exp(-Math.abs(rho)));
export const sigmoid = (rho) => 0.5 * (1 + Math.tanh(0.5 * rho));
export const inverseSoftplus = (std) => std + Math.log(-Math.expm1(-std));

// y += a b, for y (R, C), b (K, C), and a (R, K), whose entries lie `aRow` and `aStep` apart: a
// transposed a needs no copy. Four rows of b serve two rows of y at a time, because reading and
// writing takes longer than multiplying.
export const addProduct = (y, yStart, a, aStart, aRow, aStep, b, bStart, R, K, C) => {
  let i = 0;
  for (; i + 1 < R; i += 2) {
    const y0 = yStart + i * C;
    const y1 = y0 + C;
    let k = 0;
    for (; k + 3 < K; k += 4) {
      const p = aStart + i * aRow + k * aStep;
      const q = p + aRow;
      const p0 = a[p];
      const p1 = a[p + aStep];
      const p2 = a[p + 2 * aStep];
      const p3 = a[p + 3 * aStep];
      const q0 = a[q];
      const q1 = a[q + aStep];
      const q2 = a[q + 2 * aStep];
      const q3 = a[q + 3 * aStep];
      const b0 = bStart + k * C;
      const b1 = b0 + C;
      const b2 = b1 + C;
      const b3 = b2 + C;
      for (let j = 0; j < C; j += 1) {
        const w0 = b[b0 + j];
        const w1 = b[b1 + j];
        const w2 = b[b2 + j];
        const w3 = b[b3 + j];
        y[y0 + j] += p0 * w0 + p1 * w1 + (p2 * w2 + p3 * w3);
        y[y1 + j] += q0 * w0 + q1 * w1 + (q2 * w2 + q3 * w3);
      }
    }
    for (; k < K; k += 1) {
      const p = aStart + i * aRow + k * aStep;
      addTimes(y, y0, a[p], b, bStart + k * C, C);
      addTimes(y, y1, a[p + aRow], b, bStart + k * C, C);
    }
  }
  if (i < R)
    for (let k = 0; k < K; k += 1)
      addTimes(y, yStart + i * C, a[aStart + i * aRow + k * aStep], b, bStart + k * C, C);
};

// One row of y += one number times one row of b.
export const addTimes = (y, yStart, factor, b, bStart, C) => {
  for (let j = 0; j < C; j += 1) y[yStart + j] += factor * b[bStart + j];
};

// Row by row, `times` copies of b (n).
export const fillRows = (y, yStart, times, b, bStart, n) => {
  for (let i = 0; i < times; i += 1)
    for (let j = 0; j < n; j += 1) y[yStart + i * n + j] = b[bStart + j];
};

// W (m, n) -> Wᵀ (n, m).
export const transposed = (W, wStart, m, n) => {
  const turned = new Float64Array(m * n);
  for (let a = 0; a < m; a += 1)
    for (let j = 0; j < n; j += 1) turned[j * m + a] = W[wStart + a * n + j];
  return turned;
};

export const repeated = (array, M) => {
  const all = new Float64Array(array.length * M);
  for (let i = 0; i < M; i += 1) all.set(array, i * array.length);
  return all;
};
export const summed = (array, M) => {
  const sum = new Float64Array(array.length / M);
  for (let start = 0; start < array.length; start += sum.length)
    addTimes(sum, 0, 1, array, start, sum.length);
  return sum;
};

// The distributions of a network as a cloud: each a dot, around the ring of their prior.
import { pen } from "./paint.js";

const { far: MEANS, stds: STDS, ticks: [MEAN_TICKS, STD_TICKS] } = TRAINING.cloud;

// Where a mean and a standard deviation stand on a canvas; the latter on a logarithmic scale.
export const cloudFrame = (width, height) => {
  const pad = { left: 38, right: 8, top: 8, bottom: 24 };
  const inner = { w: width - pad.left - pad.right, h: height - pad.top - pad.bottom };
  const [low, high] = STDS.map(Math.log);
  return {
    pad, inner,
    x: (mean) => pad.left + (inner.w * (mean / MEANS + 1)) / 2,
    y: (std) => pad.top + (inner.h * (high - Math.log(std))) / (high - low),
  };
};

// `moments`: { means, stds } or null; `prior`: its { mean, std }.
export const cloud = (canvas, size, moments, prior, color, look) => {
  const { context, width, height } = pen(canvas, size);
  const { pad, inner, x, y } = cloudFrame(width, height);
  context.strokeStyle = look.grid;
  context.fillStyle = look.muted;
  context.lineWidth = 1;
  context.strokeRect(pad.left + 0.5, pad.top + 0.5, inner.w - 1, inner.h - 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const mean of MEAN_TICKS) context.fillText(String(mean).replace("-", "\u2212"), x(mean), height - pad.bottom + 5);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const std of STD_TICKS) context.fillText(String(std), pad.left - 5, y(std));
  context.save();
  context.beginPath();
  context.rect(pad.left, pad.top, inner.w, inner.h);
  context.clip();
  if (moments) {
    context.fillStyle = color;
    context.globalAlpha = 0.35;
    moments.means.forEach((mean, i) => {
      context.beginPath();
      context.arc(x(mean), y(moments.stds[i]), 2.5, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
  }
  context.strokeStyle = look.ink;
  context.fillStyle = look.ink;
  context.lineWidth = 1.8;
  context.beginPath();
  context.arc(x(prior.mean), y(prior.std), 9, 0, 2 * Math.PI);
  context.stroke();
  context.fillText("prior", x(prior.mean) - 14, y(prior.std));
  context.restore();
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText("\u03c3", pad.left + 6, pad.top + 5);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  context.fillText("mean", width - pad.right - 6, height - pad.bottom - 4);
};

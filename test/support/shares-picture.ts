/** Draws how exact shared ceilings are, and what they cost Redis. */

export interface Point {
  members: number;
  burst: number;
  tickMs: number;
  /** Of what one server admits. */
  ratio: number;
  callsPerSecond: number;
}

const size = { width: 420, height: 300, left: 60, top: 40 };
const colours = ["#1b6ca8", "#c8553d", "#2e7d4f", "#8a5a9e"];

/** An SVG of two charts: error in percent and calls per second, by replicas on a logarithmic axis. */
export function pictureOf(points: readonly Point[]): string {
  const charts = [
    chart(points, "error, percent", (point) => 100 * (point.ratio - 1), 0),
    chart(points, "calls of Redis per second", (point) => point.callsPerSecond, size.width + 160),
  ];
  const [width, height] = [2 * (size.width + 160), size.height + 110];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12"><title>Error and calls of Redis by replicas</title>${charts.join("")}</svg>\n`;
}

function chart(
  points: readonly Point[],
  title: string,
  measure: (point: Point) => number,
  left: number,
): string {
  const values = points.map(measure);
  const [low, high] = [Math.min(0, ...values), Math.max(0.1, ...values)];
  const most = Math.log(Math.max(2, ...points.map(({ members }) => members)));
  const x = (point: Point) => left + size.left + (Math.log(point.members) / most) * size.width;
  const y = (value: number) => size.top + size.height - ((value - low) / (high - low)) * size.height;
  const text = (at: number, height: number, words: string) => `<text x="${at}" y="${height}">${words}</text>`;
  const lines = [
    ...Map.groupBy(points, ({ burst, tickMs }) => `${burst} per second, every ${tickMs} ms`),
  ].map(([name, line], i) => {
    const places = line.map((point) => `${x(point).toFixed(1)},${y(measure(point)).toFixed(1)}`);
    const colour = colours[i % colours.length];
    const dashes = 2 + 3 * Math.floor(i / colours.length);
    const last = line[line.length - 1];
    return `<polyline fill="none" stroke="${colour}" stroke-dasharray="${dashes} ${Math.floor(dashes / 3)}" points="${places.join(" ")}"><title>${name}</title></polyline><text x="${x(last) + 4}" y="${y(measure(last))}" font-size="8">${name}</text>`;
  });
  const marks = [...new Set(points.map(({ members }) => members))].map((members) =>
    text(x({ ...points[0], members }), size.top + size.height + 18, String(members)),
  );
  return [
    text(left + size.left, 20, `${title}, by replicas`),
    text(left, size.top + 4, high.toFixed(1)),
    text(left, size.top + size.height, low.toFixed(1)),
    `<rect x="${left + size.left}" y="${size.top}" width="${size.width}" height="${size.height}" fill="none" stroke="#999"/>`,
    ...marks,
    ...lines,
  ].join("");
}

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { stateOf } from "./browser/states.ts";

/** Makes an SVG file of the states' outlines from a TopoJSON file, so that pages don't have to decode TopoJSON. */

/** See github.com/topojson/topojson-specification. Neighbouring states share the arcs of their border. */
interface Topology {
  transform: { scale: Point; translate: Point };
  /** The points of each arc. A point is stored as its difference from the previous point. */
  arcs: Point[][];
  objects: { states: { geometries: (Outline & { properties: { name: string } })[] } };
}
type Point = [x: number, y: number];
/** The indices of a ring's arcs. A reversed arc is stored as the bitwise complement of its index. */
type Ring = number[];
type Outline = { type: "Polygon"; arcs: Ring[] } | { type: "MultiPolygon"; arcs: Ring[][] };

/**
 * Returns SVG with a path for each state. A path's id is the state's code. Coordinates are whole, up to 975 and 610.
 */
export function statesSvg(): string {
  const file = createRequire(import.meta.url).resolve("us-atlas/states-albers-10m.json");
  const { transform, arcs, objects }: Topology = JSON.parse(readFileSync(file, "utf8"));
  const { scale, translate } = transform;
  const lines = arcs.map((arc) => {
    let [x, y] = [0, 0];
    return arc.map(([right, down]): Point => {
      x += right;
      y += down;
      return [Math.round(x * scale[0] + translate[0]), Math.round(y * scale[1] + translate[1])];
    });
  });
  const ringOf = (ring: Ring) => {
    const [[left, top], ...points] = ring.flatMap((i) => (i < 0 ? lines[~i].toReversed() : lines[i]));
    let [x, y] = [left, top];
    let moves = "";
    for (const [nextX, nextY] of points) {
      if (nextX !== x || nextY !== y) moves += ` ${nextX - x} ${nextY - y}`;
      [x, y] = [nextX, nextY];
    }
    return moves && `M${left} ${top}l${moves.slice(1)}z`;
  };
  const paths = objects.states.geometries.map((outline) => {
    const rings = outline.type === "Polygon" ? outline.arcs : outline.arcs.flat();
    return `<path id="${stateOf(outline.properties.name)}" d="${rings.map(ringOf).join("")}"/>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg">${paths.join("")}</svg>`;
}

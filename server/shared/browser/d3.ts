/** The parts of d3 that draw pictures. A page's bundle has only the functions that the page uses. */

export * from "d3-array";
export * from "d3-scale";
export * from "d3-shape";

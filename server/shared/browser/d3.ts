/** The modules of d3 that pages use. A page's bundle has only the functions that the page calls. */

export * from "d3-array";
export * from "d3-scale";
export * from "d3-shape";

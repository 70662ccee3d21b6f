import htm from "htm";
import { h } from "preact";

/** Makes HTML and SVG from tagged templates, for Preact. */

export const html = htm.bind(h);

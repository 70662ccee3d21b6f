import htm from "htm";
import { h } from "preact";

/** HTML and SVG as tagged templates, for Preact. */

export const html = htm.bind(h);

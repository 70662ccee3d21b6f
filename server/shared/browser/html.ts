import htm from "htm";
import { h } from "preact";

/** Makes HTML and SVG from tagged templates, for Preact. */

type Html = ReturnType<typeof htm.bind<ReturnType<typeof h>>>;

export let html: Html = htm.bind(h);

/** Sets the template tag that makes elements from now on. The server sets a tag that makes text. */
export function makeBy(tag: Html): void {
  html = tag;
}

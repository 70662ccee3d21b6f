import htm from "htm";
import { h } from "preact";

/** Makes HTML and SVG from tagged templates, for Preact. */

type Html = ReturnType<typeof htm.bind<ReturnType<typeof h>>>;

export let html: Html = htm.bind(h);

/** Makes elements by another tag from now on. The server makes them as text. */
export function makeBy(tag: Html): void {
  html = tag;
}

import htm from "htm";
import { h } from "preact";

type Html = ReturnType<typeof htm.bind<ReturnType<typeof h>>>;

export let html: Html = htm.bind(h);

/** Replaces the tag `html`. The server uses a tag that makes text instead of elements. */
export function makeBy(tag: Html): void {
  html = tag;
}

import type { PageSettings } from "../pages.ts";

/** Reads what the server wrote into the page. */

function read(page: Document): PageSettings {
  return JSON.parse(page.querySelector("#settings")?.textContent ?? "{}");
}

export let settings: PageSettings = read(document);

const first = location.href;
const sentence = document.querySelector(".sentence")?.innerHTML;

/** The HTML of the sentence that the server wrote into the page for this address; empty for another one. */
export const writtenAt = ({ href }: URL): string => (href === first && sentence) || "";

/** Reads the settings again, because the server replaces the pages' key daily. @returns whether the key has changed */
export async function renewSettings(): Promise<boolean> {
  const before = settings.key;
  const response = await fetch("/", { cache: "no-store" });
  settings = read(new DOMParser().parseFromString(await response.text(), "text/html"));
  return settings.key !== before;
}

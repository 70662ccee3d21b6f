/** Reads the settings that the server wrote into the page. */

export interface Settings {
  /** The pages' key; null where visitors need a key of their own. */
  key: string | null;
  signup: "open" | "email" | "off";
  /** Whether the server sends e-mail. */
  mail: boolean;
  /** URL of the map of the states. */
  states: string;
}

function read(page: Document): Settings {
  return JSON.parse(page.querySelector("#settings")?.textContent ?? "{}");
}

export let settings: Settings = read(document);

/** Reads the settings again, because the server replaces the pages' key daily. @returns whether the key has changed */
export async function renewSettings(): Promise<boolean> {
  const before = settings.key;
  const response = await fetch("/", { cache: "no-store" });
  settings = read(new DOMParser().parseFromString(await response.text(), "text/html"));
  return settings.key !== before;
}

/** What the page knows of its server. */

export interface Settings {
  /** The key by which whoever looks asks, or null where a key of one's own is needed. */
  key: string | null;
  signup: "open" | "email" | "off";
  /** Whether it sends mail. */
  mail: boolean;
  /** The address of the map of the states. */
  states: string;
}

function read(page: Document): Settings {
  return JSON.parse(page.querySelector("#settings")?.textContent ?? "{}");
}

export let settings: Settings = read(document);

/** Reads them again: the server replaces its pages' key each day. @returns whether the key is another one */
export async function renewSettings(): Promise<boolean> {
  const before = settings.key;
  const response = await fetch("/", { cache: "no-store" });
  settings = read(new DOMParser().parseFromString(await response.text(), "text/html"));
  return settings.key !== before;
}

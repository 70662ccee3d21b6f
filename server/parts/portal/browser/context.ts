import type { Ask } from "./answers.ts";

/** Where a page is drawn: in a browser, or on the server as HTML. */

/** Settings that the server writes into each page. */
export interface PageSettings {
  /** The API key of the pages; null if visitors need their own key. */
  key: string | null;
  signup: "open" | "email" | "off";
  /** What the signup form promises: the ceilings of a new account, and how long a mailed link works. */
  newcomers: { burst: number; quota: number; linkHours: number };
  /** Minimum milliseconds between opening the signup form and sending it. */
  minElapsedMs: number;
  mail: boolean;
  /** Whether pages of other sites may show a picture in a frame. */
  embeds: boolean;
  /** URL of the states' outlines. */
  states: string;
}

/** What components may use while they are drawn, in place of the browser's window. */
export interface PageContext {
  settings: PageSettings;
  /** The page's URL. The object must not be changed. On the server the URL has no real host. */
  url: () => URL;
  /** The visitor's own key; null if there is none, and on the server. */
  ownKey: () => string | null;
  ask: Ask;
  /** Text typed into a field before the script ran, returned only once; otherwise null. */
  typedIn: (field: string) => string | null;
  /** Receives the page's title, and its description for link previews. */
  entitle: (title: string, description: string) => void;
  /** Receives what the URL's words mean, as changes of the URL. On the server, links then start from the changed URL. */
  means: (changes: Record<string, string | null>) => void;
  /** A view calls this if the page's hospital isn't in the data. */
  misses: () => void;
}

/** Drawing a page is synchronous, so the server's pages can't mix their contexts. */
export let context: PageContext;

export function drawIn(other: PageContext): void {
  context = other;
}

export interface DrawnPage {
  /** HTML. */
  body: string;
  /** Plain text, like the description. Both are empty if the page's components give none. */
  title: string;
  description: string;
  isMissing: boolean;
}

/**
 * Draws a page as HTML.
 * @param path the page's undecoded path, or a pattern of `pages.ts` @param query with `?`, or empty
 * @param ask null to draw the page without numbers
 */
export type Draw = (path: string, query: string, settings: PageSettings, ask: Ask | null) => DrawnPage;

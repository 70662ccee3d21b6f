import type { WebFile } from "../../shared/messages.ts";

/** Names of the pages that are served at several paths. */
export const facilityPage = "/facilities/*";
export const embedPage = "/embed/*";
export const missingPage = "/*";

export class PageFiles {
  readonly #files: ReadonlyMap<string, WebFile>;

  constructor(files: readonly WebFile[]) {
    this.#files = new Map(files.map((file) => [file.path, file]));
  }

  /** @param path undecoded */
  find(path: string): WebFile | undefined {
    return (
      (path === missingPage ? undefined : this.#files.get(path)) ??
      (/^\/facilities\/[^/]+$/.test(path) ? this.page(facilityPage) : undefined) ??
      (/^\/embed(\/(charges|states|years|hospitals))?$/.test(path) ? this.#files.get(embedPage) : undefined)
    );
  }

  page(path: string): WebFile {
    const page = this.#files.get(path);
    if (page === undefined) throw new Error(`the portal has no page ${path}`);
    return page;
  }
}

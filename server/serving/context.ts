import type { Image } from "../../engine/query.ts";
import type { Context, Usage, Versions } from "../api/endpoint.ts";
import { findVersion, type Target } from "../api/routes.ts";

/** Holds the data that an endpoint makes one answer from. */

/** The data of one request. */
export class RequestContext implements Context {
  readonly versions: Versions;
  readonly scratch: Buffer;
  readonly offset: number;
  /** Whether the answer shows the account's state. */
  isLive = false;
  /** Whether the answer never changes. */
  isPinned = false;
  readonly #target: Target;
  readonly #usage: () => Usage;
  #image: Image | undefined;

  /** @param usage returns the caller's usage */
  constructor(
    versions: Versions,
    target: Target,
    scratch: Buffer,
    usage: () => Usage,
    image?: Image,
    offset = 0,
  ) {
    this.versions = versions;
    this.#target = target;
    this.scratch = scratch;
    this.#usage = usage;
    this.#image = image;
    this.offset = offset;
  }

  get segment(): string {
    return this.#target.segment;
  }

  /**
   * The data version. Endpoints read it after their parameters are checked: a bad parameter is reported before an
   * unknown version.
   */
  get image(): Image {
    this.#image ??= findVersion(this.versions, this.#target.version);
    return this.#image;
  }

  usage(): Usage {
    this.isLive = true;
    return this.#usage();
  }

  pin(): void {
    this.isPinned = true;
  }

  onPage(image: Image, offset: number): Context {
    return new RequestContext(this.versions, this.#target, this.scratch, this.#usage, image, offset);
  }
}

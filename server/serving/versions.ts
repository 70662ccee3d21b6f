import { attachImage, type Image, prepareSearch, versionName } from "../../engine/query.ts";
import type { Versions } from "../api/endpoint.ts";
import type { PublishedVersion } from "../shared/messages.ts";
import { collectGarbageSoon } from "../shared/runtime.ts";
import { safely } from "../shared/safely.ts";
import { inPieces } from "./pieces.ts";

/**
 * Attaches published versions.
 * @param known attached images; those that are published again are reused, with the data that was derived from them
 */
export function versionsOf(published: readonly PublishedVersion[], known: readonly Image[] = []): Versions {
  const versions = published.map((version) => {
    const image = attachImage(version.image);
    const isSame = ({ description }: Image) => description.sha256 === image.description.sha256;
    return { ...version, image: known.find(isSame) ?? image };
  });
  const images = versions.map(({ image }) => image);
  const names = images.map(({ description }) => versionName(description.provenance));
  return { images, byName: new Map(versions.map((version, i) => [names[i], version])) };
}

/**
 * Attaches published versions, and prepares searches in new images. The thread does other work between pieces of this
 * work.
 * @param onPiece called after each piece with its milliseconds
 */
export async function prepareVersions(
  published: readonly PublishedVersion[],
  before: Versions,
  onPiece: (tookMs: number) => void,
): Promise<Versions> {
  const versions = versionsOf(published, before.images);
  for (const image of versions.images)
    if (!before.images.includes(image)) await inPieces(prepareSearch(image), onPiece);
  return versions;
}

/**
 * Schedules a garbage collection if an image isn't served any more. Without it, the image's memory would be freed later.
 */
export function freeRetired(before: Versions, now: Versions, report: (error: unknown) => void): void {
  if (before.images.some((image) => !now.images.includes(image)))
    setImmediate(safely(collectGarbageSoon, report));
}

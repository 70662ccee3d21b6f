import { type Image, versionName } from "../../../engine/query.ts";

/** Names the source of an answer's numbers. */

/** The source of an answer, which every answer names. */
export const sourceOf = ({ description: { provenance } }: Image) => ({
  data_year: provenance.dataYear,
  data_version: versionName(provenance),
  caveat: provenance.caveat,
});

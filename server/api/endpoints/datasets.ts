import * as v from "valibot";
import { statusOf } from "../../../engine/query.ts";
import { endpoint } from "../endpoint.ts";
import { gapsOf } from "../not-found.ts";
import { datasetsResponse } from "../responses.ts";
import { contentSql, verifyOf } from "../verify.ts";

export const datasets = endpoint({
  path: "/datasets",
  name: "datasets",
  summary: "The data versions that are served, newest first, with their gaps",
  description:
    "The sources of the loaded data versions, their checksums, how many rows have prices, which states and procedure groups " +
    "have none, and how many rows a revision changed",
  returns: "The data versions, newest first.",
  kind: "service",
  parameters: v.object({}),
  response: datasetsResponse,
  answer: ({ versions }) => ({
    data: [...versions.byName].map(([version, { image, file, loadedAt, previous }]) => {
      const { provenance, counts, sha256, contentSha256, isSynthetic } = image.description;
      return {
        id: `opps-${version}`,
        title: provenance.title,
        publisher: provenance.publisher,
        data_year: provenance.dataYear,
        data_version: version,
        status: statusOf(versions.images, image),
        rows: counts.rows,
        priced_rows: counts.pricedRows,
        suppressed_rows: counts.suppressedRows,
        incomplete_rows: counts.incompleteRows,
        facilities: counts.facilities,
        procedures: counts.procedures,
        released: provenance.released,
        loaded_at: loadedAt,
        sha256,
        content_sha256: contentSha256,
        content_sql: contentSql(version),
        source_sha256: provenance.sourceSha256,
        source_url: provenance.sourceUrl,
        caveat: provenance.caveat,
        checksum: file.isChecked,
        synthetic: isSynthetic,
        previous,
        coverage: gapsOf(image),
        verify: verifyOf(provenance),
        totals: provenance.totals ?? null,
      };
    }),
  }),
});

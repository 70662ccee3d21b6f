import * as v from "valibot";
import { statusOf, versionName } from "../../../engine/query.ts";
import { basePath, endpoint, type Versions } from "../endpoint.ts";
import { versionsResponse } from "../responses.ts";

/** Answers with the data versions, as paths name them. */

export function listVersions({ images }: Versions) {
  return images.map((image) => {
    const { provenance } = image.description;
    const version = versionName(provenance);
    return {
      data_year: provenance.dataYear,
      data_version: version,
      status: statusOf(images, image),
      path: `${basePath}/versions/${version}`,
    };
  });
}

export const versions = endpoint({
  path: "/versions",
  name: "versions",
  summary: "The loaded data versions, newest first, as paths take them",
  description:
    "Lists the loaded data versions, and the start of each one's paths. `/datasets` describes the versions in detail.",
  returns: "The data versions, newest first.",
  kind: "service",
  parameters: v.object({}),
  response: versionsResponse,
  errors: [],
  answer: (context) => ({ data: listVersions(context.versions) }),
});

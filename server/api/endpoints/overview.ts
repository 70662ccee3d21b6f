import * as v from "valibot";
import { statusOf, versionName } from "../../../engine/query.ts";
import { basePath, type Endpoint, endpoint, type Versions } from "../endpoint.ts";
import { overviewResponse, versionsResponse } from "../responses.ts";

export type Outline = v.InferInput<typeof overviewResponse>["endpoints"][number];

/**
 * Makes the endpoint that lists all endpoints and data versions.
 * @param outlines returns the outlines of all endpoints, including this one; called at the first request
 */
export function overviewOf(outlines: () => Outline[]): Endpoint {
  let endpoints: Outline[] | undefined;
  return endpoint({
    path: "",
    name: "overview",
    summary: "The endpoints with their parameters, and the loaded data versions",
    description: "A start for people who explore with curl.",
    returns: "The endpoints and the data versions.",
    kind: "service",
    parameters: v.object({}),
    response: overviewResponse,
    answer({ versions }) {
      endpoints ??= outlines();
      return { description: `${basePath}/openapi.json`, endpoints, versions: listVersions(versions) };
    },
  });
}

function listVersions({ images }: Versions) {
  return images.map((image) => {
    const { provenance } = image.description;
    const version = versionName(provenance);
    return {
      data_year: provenance.dataYear,
      data_version: version,
      status: statusOf(images, image),
      path: `${basePath}/versions/${version}/healthcare/facilities`,
    };
  });
}

export const versions = endpoint({
  path: "/versions",
  name: "versions",
  summary: "The loaded data versions, newest first, with their paths",
  description:
    "Other paths of a version begin like the path of its hospitals. `/datasets` describes the versions in detail.",
  returns: "The data versions, newest first.",
  kind: "service",
  parameters: v.object({}),
  response: versionsResponse,
  answer: (context) => ({ data: listVersions(context.versions) }),
});

import * as v from "valibot";
import { basePath, type Endpoint, endpoint } from "../endpoint.ts";
import { overviewResponse } from "../responses.ts";
import { listVersions } from "./versions.ts";

/** Answers with an overview of the API, for a person with curl and a key. */

/** The outline of an endpoint. */
export interface Outline {
  path: string;
  /** The path for one data version; null where there is none. */
  version_path: string | null;
  summary: string;
  parameters: {
    name: string;
    in: string;
    required: boolean;
    description: string | undefined;
    default: unknown;
  }[];
}

/** @param outlines returns the outlines of all endpoints, this one included; called once */
export function overviewOf(outlines: () => Outline[]): Endpoint {
  let endpoints: Outline[] | undefined;
  return endpoint({
    path: "",
    name: "overview",
    summary: "The endpoints with their parameters, and the loaded data versions",
    description:
      "Lists every endpoint with its parameters, and the loaded data versions: a start for people who explore with curl.",
    returns: "The endpoints and the data versions.",
    kind: "service",
    parameters: v.object({}),
    response: overviewResponse,
    errors: [],
    answer({ versions }) {
      endpoints ??= outlines();
      return { description: `${basePath}/openapi.json`, endpoints, versions: listVersions(versions) };
    },
  });
}

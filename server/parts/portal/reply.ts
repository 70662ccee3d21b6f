import { ApiError } from "../../api/errors.ts";
import type { PortalReply } from "../../shared/messages.ts";

/** Makes the replies to requests that failed. */

export function errorReply(error: ApiError): PortalReply {
  const headers = Object.fromEntries(error.headers.map(({ name, value }) => [name, String(value)]));
  return { status: Number.parseInt(error.status, 10), body: error.body, headers };
}

/** Makes an error with status 503. @param seconds value of the Retry-After header */
export function unavailable(message: string, seconds: number): ApiError {
  return new ApiError("service_unavailable", message, { header: seconds });
}

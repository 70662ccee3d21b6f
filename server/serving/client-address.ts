import type { HttpRequest, HttpResponse } from "./listener.ts";
import { listIn } from "./reply.ts";

/** Finds the address of a request's client. */

export interface AddressParts {
  /** All X-Forwarded-For headers, joined by commas. */
  forwardedFor: string;
  /** IP address of the socket. */
  address: string;
}

export function addressPartsOf(res: HttpResponse, req: HttpRequest): AddressParts {
  return {
    forwardedFor: listIn(req, "x-forwarded-for"),
    address: Buffer.from(res.getRemoteAddressAsText()).toString("latin1"),
  };
}

/**
 * Returns the n-th entry from the right of X-Forwarded-For, where n is `TRUSTED_PROXIES`; `unknown` if that entry is
 * missing or empty. If the header is missing or n is 0, returns the socket's address.
 */
export function clientAddress({ forwardedFor, address }: AddressParts, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === "") return address;
  return forwardedFor.split(",").at(-trustedProxies)?.trim() || "unknown";
}

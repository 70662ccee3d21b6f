import type { HttpRequest, HttpResponse } from "./listener.ts";

/** Tells from where a request comes. */

/** What tells it. */
export interface AddressParts {
  /** All X-Forwarded-For headers, joined by commas. */
  forwardedFor: string;
  /** The IP address that the socket has. */
  address: string;
}

export function addressPartsOf(res: HttpResponse, req: HttpRequest): AddressParts {
  const forwarded: string[] = [];
  req.forEach((name, value) => {
    if (name === "x-forwarded-for") forwarded.push(value);
  });
  return {
    forwardedFor: forwarded.join(","),
    address: Buffer.from(res.getRemoteAddressAsText()).toString("latin1"),
  };
}

/**
 * The n-th entry from the right of X-Forwarded-For, as `TRUSTED_PROXIES` proxies add one each, whatever it says; without
 * that header the socket's address.
 *
 * @returns `unknown` where there are fewer entries, or that one is empty
 */
export function clientAddress({ forwardedFor, address }: AddressParts, trustedProxies: number): string {
  if (trustedProxies === 0 || forwardedFor === "") return address;
  return forwardedFor.split(",").at(-trustedProxies)?.trim() || "unknown";
}

/**
 * Ceilings of the plans, by the interface specification's section 8; enterprise accounts bring their own. All who look at
 * the pages without a key of their own share an account of the plan portal: ten times the plan free.
 */

export const plans = {
  free: { burst: 10, quota: 10_000 },
  developer: { burst: 50, quota: 1_000_000 },
  startup: { burst: 200, quota: 10_000_000 },
  business: { burst: 500, quota: 50_000_000 },
  enterprise: undefined,
  portal: { burst: 100, quota: 100_000 },
} as const;

export type Plan = keyof typeof plans;
export const planNames = Object.keys(plans) as Plan[];

/** The largest ceilings an account can have: counters have 32 bits. */
export const maxBurst = 1_000_000;
export const maxQuota = 2_000_000_000;

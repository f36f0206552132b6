// The list of built-in plugins. Each is loaded only when the settings include it.
import type { Plugin } from '../http/plugin.ts';

/** Loaders by the names that `includes` takes. */
const loaders: Readonly<Record<string, () => Promise<Plugin>>> = {
  accounts: async () => (await import('../plugins/accounts/index.ts')).accounts,
  admin: async () => (await import('../plugins/admin/index.ts')).admin,
  attachments: async () => (await import('../plugins/attachments/index.ts')).attachments,
  changes: async () => (await import('../plugins/changes/index.ts')).changes,
  counters: async () => (await import('../plugins/counters/index.ts')).counters,
  default_bucket: async () => (await import('../plugins/default-bucket/index.ts')).defaultBucket,
  emailer: async () => (await import('../plugins/emailer/index.ts')).emailer,
  flush: async () => (await import('../plugins/flush/index.ts')).flush,
  history: async () => (await import('../plugins/history/index.ts')).history,
  openid: async () => (await import('../plugins/openid/index.ts')).openid,
  operations: async () => (await import('../plugins/operations/index.ts')).operations,
  prometheus: async () => (await import('../plugins/prometheus/index.ts')).prometheus,
  quotas: async () => (await import('../plugins/quotas/index.ts')).quotas,
  signer: async () => (await import('../plugins/signer/index.ts')).signer,
  statsd: async () => (await import('../plugins/statsd/index.ts')).statsd,
};

export const builtInNames: readonly string[] = Object.keys(loaders);

/** Loads the built-in plugin of that name; `undefined` when the name is not one. */
export async function loadBuiltIn(name: string): Promise<Plugin | undefined> {
  return Object.hasOwn(loaders, name) ? loaders[name]!() : undefined;
}

/** Loads all of them, for the reference of settings. */
export function loadAllBuiltIn(): Promise<readonly Plugin[]> {
  return Promise.all(Object.values(loaders).map((load) => load()));
}

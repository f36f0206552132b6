// Accounts of the source, as far as it shows them: each is a list of its own, and its owner alone may write to it.
import { getKey } from '../../base/json.ts';
import { isTombstone, type StoredObject } from '../../core/objects/stored.ts';
import type { Stores } from '../../engine/session.ts';
import { formatPermissions } from '../copy/digest.ts';
import type { Compared, Side } from '../copy/verify.ts';
import { isUnfit, readEntry } from './entries.ts';
import type { SourceList } from './lists.ts';
import type { Source } from './source.ts';
import { writeChanges } from './write-changes.ts';

/** What a password looks like that is kept as a hash, and so can be checked here as well. */
const hash = /^\$(?:2[aby]|scrypt)\$.{20}/;

export interface AccountsReport {
  readonly compared: Compared;
  readonly problems: readonly string[];
}

/** Imports or compares them; `undefined` when the source shows none. */
export async function importAccounts(
  source: Source,
  target: Stores,
  { writes }: { readonly writes: boolean },
): Promise<AccountsReport | undefined> {
  const values = await source.listAll('accounts');
  if (values === 'hidden') return undefined;
  const problems: string[] = [];
  const differences: string[] = [];
  let [objects, same] = [0, 0];
  for (const value of values) {
    const account = readEntry(value);
    if (isUnfit(account) || isTombstone(account)) continue;
    const password = getKey(account.attributes, 'password');
    if (typeof password !== 'string' || !hash.test(password)) {
      problems.push(`/accounts/${account.id} was left out: the source does not show the hash of its password`);
      continue;
    }
    objects++;
    const list = accountList(account.id);
    if (writes && !(await isThere(target, list, account))) {
      const change = { put: account, permissions: owned(account.id), known: {} };
      await writeChanges(target, list, { changes: [change], clock: account.lastModified });
    }
    if (await isThere(target, list, account)) same++;
    else if (differences.length < 5) differences.push(`/accounts/${account.id} is different in the target`);
  }
  const side = (count: number): Side => ({ lists: 0, objects: count, tombstones: 0, digest: '' });
  return { compared: { name: 'accounts', source: side(objects), target: side(same), differences }, problems };
}

function accountList(id: string): SourceList {
  const uriOf = (of: string): string => `/accounts/${of}`;
  return {
    kind: 'account',
    parent: id,
    name: '/accounts',
    path: 'accounts',
    uriOf,
    hasObjects: true,
    hasChildren: false,
  };
}

function owned(id: string): { readonly write: readonly string[] } {
  return { write: [`account:${id}`] };
}

async function isThere({ storage, permission }: Stores, list: SourceList, account: StoredObject): Promise<boolean> {
  const { kind, parent } = list;
  const stored = await storage.reader.get({ kind, parent }, account.id);
  if (stored?.text !== account.text || stored.lastModified !== account.lastModified) return false;
  const permissions = await permission.reader.getObjectPermissions(list.uriOf(account.id));
  return formatPermissions(permissions) === formatPermissions(owned(account.id));
}

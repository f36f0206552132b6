// Finds principals in permissions and groups that name nothing: misspelt user ids, deleted groups and accounts. The protocol
// accepts them, so requests never report them. Reads committed state only, and no more of it than allowed.
import { quoteText } from '../base/abbreviate.ts';
import type { PermissionReader, WalkPage } from '../contracts/permission.ts';
import type { StorageReader } from '../contracts/storage.ts';
import { uriBelow } from '../core/objects/uris.ts';
import { findPrincipalFault, type Principal, type PrincipalForms } from '../core/permissions/principals.ts';
import { policyClass } from '../settings/kinto-names.ts';
import type { Settings } from '../settings/settings.ts';
import { pluginDescriptions } from '../settings/template.ts';

export interface PrincipalCheck {
  readonly storage: StorageReader;
  readonly permission: PermissionReader;
  readonly forms: PrincipalForms;
  /** Whether ids that begin with `account:` are accounts of this service. */
  readonly hasAccounts: boolean;
  /** Maximum number of objects with permissions that are checked, and of users in groups. */
  readonly maxObjects: number;
  /** Returns whether the check has to end early. */
  readonly isOver: () => boolean;
}

export interface PrincipalFindings {
  /** One sentence for each doubtful principal, up to `maxReported`. */
  readonly faults: readonly string[];
  /** Doubtful principals, those without a sentence included. */
  readonly doubtful: number;
  /** Objects and users that were checked. */
  readonly objects: number;
  readonly isComplete: boolean;
}

/** Maximum number of doubtful principals that are reported individually. */
const maxReported = 10;
const pageSize = 500;
/** Maximum number of distinct principals. The check ends when it finds more. */
const maxKnown = 100_000;

/** Returns the forms of principals that callers can have with these settings. */
export function describePrincipals(settings: Settings): Pick<PrincipalCheck, 'forms' | 'hasAccounts'> {
  const use = settings.lookup('multiauth.policy.basicauth.use') ?? 'BasicAuthAuthenticationPolicy';
  const includes = settings.get('includes');
  // The ids of accounts begin with `account:`, whatever the name of the policy.
  const prefixOf = (name: string): string =>
    policyClass(settings.lookup(`multiauth.policy.${name}.use`) ?? name) === 'AccountsPolicy' ? 'account' : name;
  return {
    forms: {
      policies: new Set(settings.get('multiauth.policies').map((name) => prefixOf(name).toLowerCase())),
      hasBasicIds: use.endsWith('BasicAuthAuthenticationPolicy'),
      // External plugins may add principals of any form.
      hasOthers: includes.some((name) => !Object.hasOwn(pluginDescriptions, name)),
    },
    hasAccounts: includes.includes('accounts'),
  };
}

/** Checks the principals of permissions and groups. */
export async function findUnknownPrincipals(check: PrincipalCheck): Promise<PrincipalFindings> {
  const known = new Map<string, string | undefined>();
  const faults: string[] = [];
  let doubtful = 0;
  const isOver = (): boolean => check.isOver() || known.size >= maxKnown;
  const judge = async (principal: Principal, place: string): Promise<void> => {
    if (known.has(principal)) return;
    const fault = await findFault(principal, check);
    known.set(principal, fault);
    if (fault === undefined || ++doubtful > maxReported) return;
    faults.push(`the principal ${quoteText(principal, 100)} in ${place} ${fault}`);
  };
  const limits = { maxObjects: check.maxObjects, isOver };
  const entries = await walk(
    limits,
    (from, limit) => check.permission.entries(from, limit),
    async (object) => {
      for (const [name, principals] of Object.entries(object.permissions)) {
        for (const principal of principals)
          await judge(principal, `the permission ${name} of ${brief(object.objectId)}`);
      }
    },
  );
  const users = await walk(
    limits,
    (from, limit) => check.permission.memberships(from, limit),
    ({ userId, principals }) => judge(userId, `the group ${brief(principals[0] ?? '')}`),
  );
  return {
    faults,
    doubtful,
    objects: entries.count + users.count,
    isComplete: entries.isComplete && users.isComplete,
  };
}

function brief(uri: string): string {
  return uri.length > 200 ? `${uri.slice(0, 200)}…` : uri;
}

async function walk<T>(
  { maxObjects, isOver }: Pick<PrincipalCheck, 'maxObjects' | 'isOver'>,
  read: (from: string | undefined, limit: number) => Promise<WalkPage<T>>,
  look: (found: T) => Promise<void>,
): Promise<{ readonly count: number; readonly isComplete: boolean }> {
  let count = 0;
  let from: string | undefined;
  do {
    const page = await read(from, Math.min(pageSize, maxObjects - count));
    for (const found of page.found) {
      if (count === maxObjects || isOver()) return { count, isComplete: false };
      await look(found);
      count++;
    }
    from = page.next;
  } while (from !== undefined && count < maxObjects);
  return { count, isComplete: from === undefined };
}

async function findFault(
  principal: Principal,
  { storage, forms, hasAccounts }: PrincipalCheck,
): Promise<string | undefined> {
  const fault = findPrincipalFault(principal, forms);
  if (fault !== undefined) return fault;
  if (principal.startsWith('/')) {
    const [, , bucket = '', , group = ''] = principal.split('/');
    const isThere =
      (await storage.get({ kind: 'group', parent: uriBelow('', 'buckets', bucket) }, group)) !== undefined;
    return isThere ? undefined : 'names a group that does not exist';
  }
  if (!hasAccounts || !principal.startsWith('account:')) return undefined;
  const id = principal.slice('account:'.length);
  const isThere = id !== '' && (await storage.get({ kind: 'account', parent: '' }, id)) !== undefined;
  return isThere ? undefined : 'names an account that does not exist';
}

// Principals and user ids, the two principals of every deployment, and a check of the form of all others. The protocol
// accepts any text as a principal; the check finds probable spelling mistakes.

declare const brand: unique symbol;
declare const userBrand: unique symbol;

/** A name in permission entries: a user id, the URI of a group, a system principal, or any text of a client or plugin. */
export type Principal = string & { readonly [brand]: 'Principal' };

/** A user: the name of an authentication policy and the id that it has returned, such as `account:alice`. */
export type UserId = Principal & { readonly [userBrand]: 'UserId' };

/** Returns the text as a principal. Every text is one. */
export function toPrincipal(text: string): Principal {
  return text as Principal;
}

/** Returns the texts as principals, without a copy. */
export function toPrincipals(texts: readonly string[]): readonly Principal[] {
  return texts as readonly Principal[];
}

/** Returns the id of a user from the name of the policy and the id without prefix. */
export function formatUserId(policy: string, id: string): UserId {
  return `${policy}:${id}` as UserId;
}

/** Casts the id of a user who is not the caller: storage has returned it, or an operator has named the user. */
export function storedUserId(id: string): UserId {
  return id as UserId;
}

/** Every caller, authenticated or not. */
export const EVERYONE = toPrincipal('system.Everyone');

/** Every authenticated caller. */
export const AUTHENTICATED = toPrincipal('system.Authenticated');

export interface PrincipalForms {
  /** Names of the authentication policies in lower case: the prefixes of user ids. */
  readonly policies: ReadonlySet<string>;
  /** Whether user ids with the prefix `basicauth:` come from the built-in policy. */
  readonly hasBasicIds: boolean;
  /** Whether plugins may give callers principals of other forms. */
  readonly hasOthers: boolean;
}

const groupForm = /^\/buckets\/[^/]+\/groups\/[^/]+$/;
const basicForm = /^basicauth:[\da-f]{64}$/;

/** Returns why no caller can have the principal, as the end of a sentence; `undefined` for principals of a known form. */
export function findPrincipalFault(principal: string, forms: PrincipalForms): string | undefined {
  if (principal === EVERYONE || principal === AUTHENTICATED) return undefined;
  if (principal.startsWith('system.')) return `is neither ${EVERYONE} nor ${AUTHENTICATED}`;
  if (principal.startsWith('/')) {
    return groupForm.test(principal) ? undefined : 'is not the URI of a group (/buckets/…/groups/…)';
  }
  const colon = principal.indexOf(':');
  const policy = principal.slice(0, colon);
  if (policy === 'basicauth' && forms.hasBasicIds && !basicForm.test(principal)) {
    return 'is not a Basic user id (basicauth: and 64 hexadecimal digits, as GET / shows it to the user)';
  }
  // Plugins act as `plugin:<name>`.
  if (forms.hasOthers || policy === 'plugin' || forms.policies.has(policy)) return undefined;
  const expected = [...forms.policies].map((name) => `${name}:…`).join(' or ');
  return colon === -1
    ? `has no prefix of an authentication policy (${expected})`
    : `names an authentication policy that is not configured (${expected})`;
}

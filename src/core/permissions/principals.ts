// The two principals of every deployment, and a check of the form of all others. The protocol accepts any text as a
// principal; the check finds probable spelling mistakes.

/** Every caller, authenticated or not. */
export const EVERYONE = 'system.Everyone';

/** Every authenticated caller. */
export const AUTHENTICATED = 'system.Authenticated';

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

// Principals whose form alone says that nobody is called so. The protocol accepts any text as a principal: these are hints
// for people who may have misspelt one.
import { AUTHENTICATED, EVERYONE } from './principals.ts';

export interface PrincipalForms {
  /** Names of the authentication policies, in lower case: what user ids begin with. */
  readonly policies: ReadonlySet<string>;
  /** Whether user ids that begin with `basicauth:` are those of the built-in policy. */
  readonly hasBasicIds: boolean;
  /** Whether plugins may give callers principals of any other form. */
  readonly hasOthers: boolean;
}

const groupForm = /^\/buckets\/[^/]+\/groups\/[^/]+$/;
const basicForm = /^basicauth:[\da-f]{64}$/;

/** Returns why nobody can be called so, as the end of a sentence; `undefined` for principals of a known form. */
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
  // Plugins act under names of their own.
  if (forms.hasOthers || policy === 'plugin' || forms.policies.has(policy)) return undefined;
  const expected = [...forms.policies].map((name) => `${name}:…`).join(' or ');
  return colon === -1
    ? `has no prefix of an authentication policy (${expected})`
    : `names an authentication policy that is not configured (${expected})`;
}

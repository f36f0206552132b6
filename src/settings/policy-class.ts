// What `multiauth.policy.<name>.use` means: the names of the policies here, short names, and dotted names of the reference
// server.

/** Short names, and last parts of dotted names that differ from the name here. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['basicauth', 'BasicAuthAuthenticationPolicy'],
  ['account', 'AccountsPolicy'],
  ['accounts', 'AccountsPolicy'],
  ['AccountsAuthenticationPolicy', 'AccountsPolicy'],
  ['openid', 'OpenIDConnectPolicy'],
  ['bearer', 'BearerPolicy'],
]);

/**
 * Returns the name here of an authentication policy: `AccountsPolicy` for
 * `kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy`. The last part of a name that is not known is
 * returned as it is.
 */
export function policyClass(use: string): string {
  const last = use.slice(use.lastIndexOf('.') + 1);
  return otherNames.get(last) ?? last;
}

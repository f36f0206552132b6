// The reference page of the parameters of authentication policies, generated from their tables.
import { bearerParameters } from '../http/authentication/bearer.ts';
import { openidParameters } from '../plugins/openid/parameters.ts';
import { formatValue, type Setting, type SettingsTable } from '../settings/definition.ts';

const policies: readonly (readonly [use: string, sentence: string, table: SettingsTable])[] = [
  ['BearerPolicy', 'OAuth 2.0 tokens that a remote server verifies.', bearerParameters],
  ['OpenIDConnectPolicy', 'Tokens of an OpenID Connect provider. It comes with the plugin `openid`.', openidParameters],
];

/** Returns the text of `docs/reference/policies.md`. */
export function formatPolicyReference(): string {
  return `# Parameters of authentication policies

This page is made from the tables of the policies by \`node scripts/write-docs.mjs\`; change it there. How to use them is
told in the [guide](../guides/authentication.md).

A parameter is written \`multiauth.policy.<name>.<parameter>\`, where the name is one of
[multiauth.policies](settings.md#multiauthpolicies); in the environment \`SVC_MULTIAUTH_POLICY_<NAME>_<PARAMETER>\`. \`use\`
names one of the policies below. Dotted names of Kinto are accepted:
\`kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy\` means \`AccountsPolicy\`. So are the short names
\`basicauth\`, \`accounts\`, \`openid\` and \`bearer\`.

## BasicAuthAuthenticationPolicy

Any user name with any password. It is the default \`use\` of the name \`basicauth\`.

### realm

Realm in \`WWW-Authenticate\`; \`Realm\` unless set.

## AccountsPolicy

Names and passwords of [accounts](../guides/accounts.md). It comes with the plugin \`accounts\`, and is the
default \`use\` of the name \`account\`. User ids begin with \`account:\` whatever the name is.

### realm

As above.

${policies.map(describePolicy).join('\n\n')}
`;
}

function describePolicy([use, sentence, table]: (typeof policies)[number]): string {
  const rows = Object.entries(table).map(([name, row]) => describeParameter(name, row));
  return [`## ${use}`, sentence, ...rows].join('\n\n');
}

function describeParameter(name: string, { sentence, reader, default: byDefault, isSecret }: Setting<unknown>): string {
  const value = formatValue(byDefault);
  const facts = [`- Takes: ${reader.form}`, `- Default: ${value === '' ? 'none' : `\`${value}\``}`];
  if (isSecret) facts.push('- Never printed');
  return [`### ${name}`, '', sentence, '', ...facts].join('\n');
}

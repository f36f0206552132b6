// The reference page of the parameters of authentication policies, generated from their tables.
import { bearerParameters } from '../../src/http/authentication/bearer.ts';
import { openidParameters } from '../../src/plugins/openid/parameters.ts';
import { formatValue, type Setting, type SettingsTable } from '../../src/settings/definition.ts';

const policies: readonly (readonly [use: string, sentence: string, table: SettingsTable])[] = [
  ['BearerPolicy', 'Accepts OAuth 2.0 tokens that a remote server verifies.', bearerParameters],
  [
    'OpenIDConnectPolicy',
    'Accepts tokens of an OpenID Connect provider. It is part of the plugin `openid`.',
    openidParameters,
  ],
];

/** Returns the text of `docs/reference/policies.md`. */
export function formatPolicyReference(): string {
  return `# Parameters of authentication policies

\`node scripts/write-docs.mjs\` generates this page from the tables of the policies. Change it there. The
[guide](../guides/authentication.md) shows how to use the policies.

The name of a parameter is \`multiauth.policy.<name>.<parameter>\`, where \`<name>\` is one of
[multiauth.policies](settings.md#multiauthpolicies). In the environment it is
\`SVC_MULTIAUTH_POLICY_<NAME>_<PARAMETER>\`. \`use\` selects one of the policies below. Dotted names of Kinto are accepted:
\`kinto.plugins.accounts.authentication.AccountsAuthenticationPolicy\` means \`AccountsPolicy\`. The short names
\`basicauth\`, \`accounts\`, \`openid\` and \`bearer\` are accepted too.

## BasicAuthAuthenticationPolicy

Accepts any user name with any password, except [names of policies](../guides/authentication.md#basic). It is the
default \`use\` of the name \`basicauth\`.

### realm

Realm in \`WWW-Authenticate\`. Default: \`Realm\`.

## AccountsPolicy

Accepts names and passwords of [accounts](../guides/accounts.md). It is part of the plugin \`accounts\`, and is the
default \`use\` of the name \`account\`. User ids start with \`account:\`, whatever the name of the policy.

### realm

Realm in \`WWW-Authenticate\`. Default: \`Realm\`.

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

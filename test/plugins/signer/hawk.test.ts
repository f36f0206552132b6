// The header of the Hawk scheme, compared with the example of its specification.
import { expect, it } from 'vitest';
import { formatHawkHeader } from '../../../src/plugins/signer/signers/hawk.ts';

it('returns the header of the published example for a request with a body.', () => {
  const header = formatHawkHeader(
    { id: 'dh37fgj492je', key: 'werxhqb98rpaxn39848xrunpaw3489ruxnpa98w4rxn' },
    {
      method: 'POST',
      url: 'http://example.com:8000/resource/1?b=1&a=2',
      contentType: 'text/plain',
      body: 'Thank you for flying Hawk',
      timestamp: 1353832234,
      nonce: 'j4h3g2',
      extra: 'some-app-ext-data',
    },
  );
  expect(header).toBe(
    'Hawk id="dh37fgj492je", ts="1353832234", nonce="j4h3g2", ' +
      'hash="Yi9LfIIFRtBEPt74PVmbTF/xVAwPn7ub15ePICfgnuY=", ext="some-app-ext-data", ' +
      'mac="aSe1DERmZuRl3pI36/9BdZmnErTw3sNzOOAUlfeKjVw="',
  );
});

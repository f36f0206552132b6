// Shows the description of this service. Everything comes from the service itself: the policy of the page forbids other
// hosts, so the viewer must not ask its own validator for an opinion.
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => unknown }} */ (
  /** @type {unknown} */ (globalThis)
);

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});

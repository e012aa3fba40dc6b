/** The registered type of a 503 that means "not at the moment" (draft-ietf-httpapi-ratelimit-headers), as members of a problem. */
export const problemTypeOfCapacity = {
  type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
  title: 'Temporarily reduced capacity',
} as const;

/* OpenAI-compatible chat completions: POST {base_url}/chat/completions. An entry of models.json:
 *
 *     {"wire":"chat","base_url":"https://HOST/v1","model":"IDENTIFIER","key_env":"VARIABLE or null",
 *      "parameters":{"temperature":1},"max_tokens":32768,"max_tokens_field":"max_completion_tokens","context":200000,
 *      "caches":true,"prices":{"fresh_in":1.0,"cache_read":0.1,"cache_write":0,"out":5.0}}
 *
 * Prices are dollars per million tokens, null where unknown. "caches": false says that the endpoint has no prompt
 * cache, so that counts it does not report are 0 and not unknown. */
#ifndef CHAT_H
#define CHAT_H
#include "http.h"
#include "wire.h"

/* The two halves of the wire that need no network; exported for tests. */
enum wire_end chat_read_reply(const char *body, size_t n, bool caches, struct model_reply *r, struct err *e);
enum wire_end chat_classify(const struct http_response *r, struct err *e);
#endif

// SPDX-License-Identifier: Apache-2.0
/*
 * Connections that say nothing: closed after the time that server_new() was given, here a second,
 * so that they cannot lock anybody out; those at work stay. The rest is tests/web's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "web/server.h"

typedef struct Site {
    Server *server;
    Hub *hub;
    char folder[40];
} Site;

static void site_start(Site *site, unsigned idle_seconds)
{
    strcpy(site->folder, "/tmp/memhawk-server-XXXXXX");
    assert_non_null(mkdtemp(site->folder));
    const char *path = site->folder;
    size_t bad;
    ServerOptions options = {.idle_seconds = idle_seconds};
    assert_int_equal(server_new(&options, &site->server), 0);
    HubOptions hub = {
        .paths = &path, .path_count = 1, .notify = server_notify, .context = site->server};
    assert_int_equal(hub_new(&hub, &site->hub, &bad), 0);
    assert_int_equal(server_start(site->server, site->hub), 0);
}

static void site_end(Site *site)
{
    server_stop(site->server);
    hub_free(site->hub);
    server_free(site->server);
    assert_int_equal(rmdir(site->folder), 0);
}

static int dial(const Site *site, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(server_port(site->server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return fd;
}

/* Takes what has come; false: the other side has closed. */
static bool is_open(int fd)
{
    char buffer[4096];
    ssize_t n;
    do
        n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
    while (n > 0);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

static void request_text(const Site *site, const char *path, char *text, size_t size)
{
    const char *token = strstr(server_url(site->server), "token=");
    snprintf(text, size, "GET %s?%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", path, token,
             server_port(site->server));
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

enum { SILENT, HALF, AFTER_ANSWER, STREAM, TALKER, PATIENT, CONNECTIONS };

static void test_idle(void **state)
{
    Site quick, patient;
    char ask[300], stream[300];
    int fd[CONNECTIONS];
    uint64_t shut_ms[AFTER_ANSWER + 1] = {0};
    (void)state;
    site_start(&quick, 1);
    site_start(&patient, 0);
    request_text(&quick, "/api/v1/processes", ask, sizeof(ask));
    request_text(&quick, "/api/v1/events", stream, sizeof(stream));
    fd[SILENT] = dial(&quick, "");
    fd[HALF] = dial(&quick, "GET /?tok");
    fd[AFTER_ANSWER] = dial(&quick, ask);
    fd[STREAM] = dial(&quick, stream);
    fd[TALKER] = dial(&quick, ask);
    fd[PATIENT] = dial(&patient, "");
    uint64_t begin_ns = clock_monotonic_ns(), now_ms = 0;
    for (unsigned left = AFTER_ANSWER + 1; left && now_ms < 20000; pause_ms(100)) {
        now_ms = (clock_monotonic_ns() - begin_ns) / 1000000;
        for (int i = 0; i <= AFTER_ANSWER; i++)
            if (!shut_ms[i] && !is_open(fd[i])) {
                shut_ms[i] = now_ms + 1;
                left--;
            }
        assert_true(is_open(fd[TALKER]));
        assert_int_equal(send(fd[TALKER], ask, strlen(ask), MSG_NOSIGNAL), (ssize_t)strlen(ask));
    }
    for (int i = 0; i <= AFTER_ANSWER; i++)
        assert_in_range(shut_ms[i], 700, 19000);
    assert_true(is_open(fd[STREAM]));
    assert_true(is_open(fd[PATIENT])); /* has a minute */
    assert_int_equal(SERVER_IDLE_SECONDS, 60);
    for (int i = 0; i < CONNECTIONS; i++)
        close(fd[i]);
    site_end(&quick);
    site_end(&patient);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_idle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

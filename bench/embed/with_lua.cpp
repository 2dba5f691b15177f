#include <lua.hpp>

#include "bench/embed/measure.hpp"

namespace bench {

static int host(lua_State* lua) {
    lua_pushnumber(lua, luaL_checknumber(lua, 1) + 0.5);
    return 1;
}

Figures measure_lua() {
    lua_State* lua = luaL_newstate();
    luaL_openlibs(lua);
    lua_register(lua, "host", host);
    check(luaL_dostring(lua, "function f(x) return x + 1 end\n"
                             "function loop(n) local s = 0.0; for i = 0, n - 1 do s = s + host(i) end; return s end\n"
                             "function size(text) return #text end\n") == LUA_OK, "Lua");
    Figures figures{"Lua 5.4 (C API)", 0, 0, 0};
    lua_getglobal(lua, "f");
    figures.into_script = nanoseconds([&] {
        double x = 0;
        for (int i = 0; i < kCalls; i++) {
            lua_pushvalue(lua, -1);
            lua_pushnumber(lua, x);
            check(lua_pcall(lua, 1, 1, 0) == LUA_OK, "Lua");
            x = lua_tonumber(lua, -1);
            lua_pop(lua, 1);
        }
        check(x == kCalls, "Lua, host to script");
    });
    figures.into_host = nanoseconds([&] {
        lua_getglobal(lua, "loop");
        lua_pushinteger(lua, kCalls);
        check(lua_pcall(lua, 1, 1, 0) == LUA_OK, "Lua");
        check(lua_tonumber(lua, -1) == kSum, "Lua, script to host");
        lua_pop(lua, 1);
    });
    lua_getglobal(lua, "size");
    figures.text = nanoseconds([&] {
        int64_t sum = 0;
        for (int i = 0; i < kCalls; i++) {
            lua_pushvalue(lua, -1);
            lua_pushstring(lua, "a short text");
            check(lua_pcall(lua, 1, 1, 0) == LUA_OK, "Lua");
            sum += lua_tointeger(lua, -1);
            lua_pop(lua, 1);
        }
        check(sum == 12 * int64_t{kCalls}, "Lua, string");
    });
    lua_close(lua);
    return figures;
}

}  // namespace bench
